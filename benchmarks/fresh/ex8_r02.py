# exercise: 8
# task: RollingCache
# kind: right
# mistake: the cache is a dictionary from a position to copies of its one key and its one value; results are stacked from it, and eviction deletes entries
# shows: never
class RollingCache:
    def __init__(self, sinks: int, window: int) -> None:
        self.sinks = sinks
        self.window = window
        self.held = {}

    def _forget(self, p):
        """Leave what a piece that begins at position p needs."""
        for s in [s for s in self.held if not (s > p - self.window or s < self.sinks)]:
            del self.held[s]

    def update(self, key, value, positions):
        piece = positions.tolist()
        if not piece:
            held = sorted(self.held)
            if not held:
                return key, value, positions
        elif piece[0] == 0:
            self.held = {}
        for i, s in enumerate(piece):
            self.held[s] = (key[:, :, i].clone(), value[:, :, i].clone())
        if piece:
            self._forget(piece[0])
        order = sorted(self.held)
        result = (
            torch.stack([self.held[s][0] for s in order], dim=2),
            torch.stack([self.held[s][1] for s in order], dim=2),
            torch.tensor(order, dtype=positions.dtype, device=positions.device),
        )
        self._forget(order[-1] + 1)
        return result
