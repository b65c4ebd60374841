# exercise: 8
# task: RollingCache
# kind: wrong
# mistake: the sinks are cut from the first piece of a text only; if that piece is shorter than sinks, the sinks that come with later pieces are treated like any other position and leave with the window
# shows: only if the first piece has fewer than sinks positions and the text later gets longer than window
class RollingCache:
    def __init__(self, sinks: int, window: int) -> None:
        self.sinks = sinks
        self.window = window
        self.sink = None
        self.recent = None

    def update(self, key, value, positions):
        first = int(positions[0])
        last = int(positions[-1])
        if first == 0:
            # a new text: its first tokens are the sinks, the rest goes into the window
            n = min(self.sinks, key.shape[2])
            self.sink = (key[:, :, :n].clone(), value[:, :, :n].clone(), positions[:n].clone())
            recent = (key[:, :, n:], value[:, :, n:], positions[n:])
        else:
            k, v, p = self.recent
            keep = p > first - self.window
            recent = (
                torch.cat([k[:, :, keep], key], dim=2),
                torch.cat([v[:, :, keep], value], dim=2),
                torch.cat([p[keep], positions]),
            )
        result = (
            torch.cat([self.sink[0], recent[0]], dim=2),
            torch.cat([self.sink[1], recent[1]], dim=2),
            torch.cat([self.sink[2], recent[2]]),
        )
        # the next piece begins at last + 1
        keep = recent[2] > last + 1 - self.window
        self.recent = (recent[0][:, :, keep], recent[1][:, :, keep], recent[2][keep])
        return result
