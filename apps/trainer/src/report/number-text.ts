/** A fraction as a whole percentage: `0.25` is `25%`. */
export function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}

/** A readable duration: `45s`, `3m 05s`, `2h 10m`. */
export function shortDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole}s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}m ${String(whole % 60).padStart(2, '0')}s`;
  return `${Math.floor(minutes / 60)}h ${String(minutes % 60).padStart(2, '0')}m`;
}

/** A p-value as text. */
export function pValueText(pValue: number | null): string {
  if (pValue === null) return 'no p-value';
  return pValue < 1e-4 ? 'p < 0.0001' : `p = ${pValue.toFixed(4)}`;
}
