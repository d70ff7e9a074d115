/** Result of a check of `agl doctor`. */
export interface Finding {
  /** Name of the check, such as `store`. */
  readonly name: string;
  /** `skipped`: it does not apply here, or another error prevents it. */
  readonly status: 'ok' | 'warning' | 'error' | 'skipped';
  readonly detail: string;
  /** Remedy; null for none. */
  readonly remedy: string | null;
}

/** A finding without anything to do. */
export function fine(name: string, detail: string): Finding {
  return { name, status: 'ok', detail, remedy: null };
}
