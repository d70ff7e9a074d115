/** Unix seconds, or seconds of a duration, as the store protocol has them, from milliseconds. */
export function secondsFromMs(timeMs: number): number {
  return timeMs / 1000;
}

/**
 * Milliseconds from seconds, to the microsecond: finer than that, a float of Unix seconds holds only noise.
 */
export function msFromSeconds(seconds: number): number {
  // In two parts, so that the multiplication does not round a second time.
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
