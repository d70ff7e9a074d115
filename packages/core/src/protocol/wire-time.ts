/** Converts milliseconds to the seconds of the store protocol, for times and durations. */
export function secondsFromMs(timeMs: number): number {
  return timeMs / 1000;
}

/** Converts seconds to milliseconds, rounded to microseconds, the precision of a float of Unix seconds. */
export function msFromSeconds(seconds: number): number {
  // Computed in two parts, which avoids a second rounding in the multiplication.
  const whole = Math.trunc(seconds);
  const microseconds = whole * 1_000_000 + Math.round((seconds - whole) * 1_000_000);
  return microseconds / 1000;
}

/** {@link secondsFromMs}, or null. */
export function secondsFromMsOrNull(timeMs: number | null): number | null {
  return timeMs === null ? null : secondsFromMs(timeMs);
}

/** {@link msFromSeconds}, or null. */
export function msFromSecondsOrNull(seconds: number | null | undefined): number | null {
  return seconds === null || seconds === undefined ? null : msFromSeconds(seconds);
}
