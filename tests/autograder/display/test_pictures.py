"""Pictures that are larger than a page may show, whatever their files take."""

import base64
import io
import struct
import zlib

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from autograder.display.pictures import pixels
from autograder.grade.submission import PicturesLeft, pictures_in
from autograder.kernels.outputs import Allowance, Outputs


def png(width, height):
    """A PNG file of one colour: a few kilobytes, whatever its size."""

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    rows = zlib.compress(bytes((1 + (width + 7) // 8) * min(height, 1000)), 9)
    ends = chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + ends


@pytest.mark.parametrize("kind", ["png", "jpeg"])
def test_the_size_of_a_file_that_a_library_has_written(kind):
    file = io.BytesIO()
    plt.imsave(file, np.random.rand(31, 47), format=kind)
    assert pixels(file.getvalue()) == 31 * 47
    assert all(pixels(file.getvalue()[:cut]) in (0, 31 * 47) for cut in range(200))


def test_all_that_a_browser_decodes_counts():
    file = io.BytesIO()
    Image.new("L", (31, 47)).save(file, "jpeg", progressive=True)
    progressive = file.getvalue()
    assert progressive.count(b"\xff\xda") > 1 and pixels(progressive) == 31 * 47
    # one and the same refinement a thousand times: 5 milliseconds each where there are 20 megapixels
    last = progressive[progressive.rindex(b"\xff\xda") : -2]
    scans = progressive[:-2] + 1_000 * last + progressive[-2:]
    assert pixels(scans) >= 50 * 31 * 47
    moving = io.BytesIO()
    frames = [Image.new("L", (31, 47), shade) for shade in range(7)]
    frames[0].save(moving, "png", save_all=True, append_images=frames[1:])
    assert pixels(moving.getvalue()) == 7 * 31 * 47


def test_what_is_no_picture_has_no_pixels():
    assert pixels(b"") == pixels(b"GIF89a" + bytes(50)) == pixels(b"\xff\xd8\xff" + bytes(50)) == 0


def shown(outputs, picture):
    data = {"image/png": base64.b64encode(picture).decode(), "text/plain": "figure"}
    outputs.add("display_data", {"data": data})
    return [kind for output in outputs.kept for kind in output.get("data", {})].count("image/png")


def test_a_kernel_shows_no_picture_of_196_megapixels():
    outputs = Outputs(1_000)
    assert shown(outputs, png(3_000, 3_000)) == 1
    assert shown(outputs, png(14_000, 14_000)) == 1
    assert "not shown" in outputs.kept[-2].text or "not shown" in outputs.kept[-1].get("text", "")


def test_all_pictures_of_a_kernel_have_so_many_pixels():
    left = Allowance()
    counts = [shown(Outputs(1_000, left), png(4_000, 4_000)) for _ in range(9)]
    assert counts == [1] * 6 + [0] * 3


def in_html(outputs, picture, kind="image/png", encode=base64.b64encode):
    page = f'<img src="data:{kind};base64,{encode(picture).decode()}">'
    outputs.add("display_data", {"data": {"text/html": page}})
    return "".join(o.data.get("text/html", "") for o in outputs.kept if "data" in o).count("src")


def test_pictures_in_html_count_as_well():
    left = Allowance()
    counts = [in_html(Outputs(20_000, left), png(4_000, 4_000)) for _ in range(9)]
    assert counts == [1] * 6 + [0] * 3
    outputs = Outputs(20_000)
    assert in_html(outputs, png(10_000, 10_000)) == 0
    assert "not shown" in outputs.kept[-1].text


def test_what_is_said_to_be_a_picture_of_another_kind_is_not_shown():
    # browsers show a GIF, whatever it is said to be, and decode what is written in per cent
    gif = b"GIF89a" + struct.pack("<HH", 60_000, 60_000) + bytes(50)
    assert shown(Outputs(1_000), gif) == in_html(Outputs(20_000), gif) == 0

    def in_per_cent(picture):
        return b"%69" + base64.b64encode(picture)[1:]

    assert in_html(Outputs(20_000), png(10_000, 10_000), encode=in_per_cent) == 0
    assert in_html(Outputs(20_000), png(30, 30)) == 1


def test_pasted_pictures_have_so_many_pixels():
    left = PicturesLeft()
    data = base64.b64encode(png(4_000, 4_000)).decode()
    pasted = {f"{number}.png": {"image/png": data} for number in range(5)}
    pasted["large.png"] = {"image/png": base64.b64encode(png(14_000, 14_000)).decode()}
    assert [len(pictures_in(pasted, left)) for _ in range(3)] == [5, 1, 0]
