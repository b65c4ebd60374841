# exercise: ch8_language_model
# task: RollingCache
# kind: wrong
# mistake: update returns views of the cache's buffer, in which later calls move and overwrite the numbers
# shows: each result is right when it is returned; once later pieces have come it holds other keys, values and positions in all places but the sinks (a result of a piece too long for the buffer is a copy and stays right)
class RollingCache:
    def __init__(self, sinks: int, window: int) -> None:
        self.sinks, self.window = sinks, window
        self.room = 2 * (sinks + window)
        self.buffers = None
        self.used = 0

    def update(
        self, key: torch.Tensor, value: torch.Tensor, positions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        first = int(positions[0])
        # the axis of the positions comes first in each buffer
        new = [key.permute(2, 0, 1, 3), value.permute(2, 0, 1, 3), positions]
        if first == 0:
            self.buffers = [x.new_zeros(self.room, *x.shape[1:]) for x in new]
            self.used = 0
        self._forget(first)
        end = self.used + len(positions)
        if end > self.room:  # a long piece: it does not fit beside what is held
            together = [
                torch.cat([buffer[: self.used], x]) for buffer, x in zip(self.buffers, new)
            ]
            told = together[2]
            kept = (told > int(positions[-1]) + 1 - self.window) | (told < self.sinks)
            self.used = int(kept.sum())
            for buffer, x in zip(self.buffers, together):
                buffer[: self.used] = x[kept]
        else:
            for buffer, x in zip(self.buffers, new):
                buffer[self.used : end] = x
            self.used = end
            together = [buffer[:end] for buffer in self.buffers]
        keys, values, told = together
        return keys.permute(1, 2, 0, 3), values.permute(1, 2, 0, 3), told

    def _forget(self, first: int) -> None:
        """Close the gap that positions leave which fall out of the window."""
        told = self.buffers[2][: self.used]
        kept = (told > first - self.window) | (told < self.sinks)
        n = int(kept.sum())
        for buffer in self.buffers:
            buffer[:n] = buffer[: self.used][kept]
        self.used = n
