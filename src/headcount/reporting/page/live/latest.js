// Of requests that follow each other quickly, the newest counts: older ones are stopped, and so many a second are sent.

const LEAST = 45; // milliseconds, so that a key that is held down stays below what the server takes

// `work(signal)` runs for the newest call; `failed(error)` gets what went wrong, but for being overtaken.
export function latest(work, failed) {
  let running = null;
  let timer = null;
  let sent = 0;
  const start = async () => {
    timer = null;
    sent = performance.now();
    const mine = new AbortController();
    running = mine;
    try {
      await work(mine.signal);
    } catch (error) {
      if (error.code !== "overtaken" && running === mine) failed(error);
    } finally {
      if (running === mine) running = null;
    }
  };
  const stop = () => {
    clearTimeout(timer);
    timer = null;
    running?.abort();
    running = null;
  };
  const call = (wait = 0) => {
    stop();
    timer = setTimeout(start, Math.max(wait, sent + LEAST - performance.now(), 0));
  };
  return { call, stop, isBusy: () => running !== null || timer !== null };
}
