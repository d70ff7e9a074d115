/** Says how far a run is, and since when it runs: it takes minutes. */
export function progress(part: string): void {
  const seconds = Math.round(performance.now() / 1000);
  const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
  console.log(`${time} ${part}`);
}
