// Pages of `--serve`: loads the page again when the model has changed.

const PERIOD = 1000;
/** The server has ended after this number of failed requests. */
const MAX_FAILURES = 3;

export function watch(report: (text: string) => void): void {
  const version = document.querySelector('meta[name="typeloom-version"]')?.getAttribute("content");
  if (!version) return;
  let failures = 0;
  const ask = async (): Promise<void> => {
    try {
      const answer = await fetch("version", { cache: "no-store" });
      if (answer.ok && (await answer.text()) !== version) {
        location.reload();
        return;
      }
      failures = 0;
    } catch {
      failures += 1;
    }
    if (failures < MAX_FAILURES) setTimeout(ask, PERIOD);
    else report("The server has ended; the page no longer follows the model.");
  };
  setTimeout(ask, PERIOD);
}
