// What the packages expect of Node, put in their place when they are bundled.
import { Buffer } from "buffer/";

const hrtime = (before = [0, 0]) => {
  const now = performance.now();
  return [Math.floor(now / 1e3) - before[0], Math.floor((now % 1e3) * 1e6) - before[1]];
};
hrtime.bigint = () => BigInt(Math.floor(performance.now() * 1e6));

export const process = {
  argv: [],
  cwd: () => "/",
  env: {},
  hrtime,
  nextTick: (task, ...given) => queueMicrotask(() => task(...given)),
  platform: "browser",
  version: "v20",
  versions: {},
};
export { Buffer };
