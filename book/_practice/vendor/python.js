// What a worker needs to run Python from @cowasm/kernel, as one script: `startPython`.
import importKernel from "@cowasm/kernel/dist/wasm/worker/import.js";
import posix from "@cowasm/kernel/dist/wasm/worker/posix-browser.js";
import { createFileSystem } from "wasi-js";
import bindings from "wasi-js/dist/bindings/browser";

const LIBRARY = "/usr/lib";
const PYTHON = `${LIBRARY}/python.wasm`;

/**
 * Start Python.
 * archive: the zip file with `python.wasm`, `kernel.wasm`, the standard library and NumPy; say: takes
 * the bytes that Python writes. Returns the function that runs a program, given as text; 0 is success.
 */
self.startPython = async (archive, say) => {
  const files = createFileSystem([
    { type: "zip", data: archive, mountpoint: LIBRARY },
    { type: "dev" },
  ]);
  const read = (path) => files.readFileSync(path);
  const instantiate = (path, imports) =>
    new WebAssembly.Instance(new WebAssembly.Module(read(path)), imports);
  const randomFillSync = (buffer, offset = 0, size = buffer.length - offset) => {
    crypto.getRandomValues(buffer.subarray(offset, offset + size));
    return buffer;
  };
  const kernel = await importKernel({
    source: `${LIBRARY}/kernel.wasm`,
    bindings: { ...bindings, fs: files, posix, randomFillSync },
    options: {
      env: { PYTHONHOME: "/usr", PYTHONEXECUTABLE: PYTHON },
      sleep: () => {},
      getStdin: () => new Uint8Array(0),
      sendStdout: say,
      sendStderr: say,
      wasmEnv: { wasmGetSignalState: () => 0 },
    },
    importWebAssembly: async (path, imports) => instantiate(path, imports),
    importWebAssemblySync: instantiate,
    readFileSync: read,
    maxMemoryMB: 1000,
  });
  kernel.callWithString({ name: "cowasm_python_init", dll: PYTHON }, "");
  return (program) => kernel.callWithString({ name: "cowasm_python_exec", dll: PYTHON }, program);
};
