/** Limit of distinct model labels. */
const maxNames = 100;

/** Limits the number of labels: agents may send any model name, and every label is kept until exit. */
export class LabelNames {
  readonly #known: Set<string> = new Set();

  /** The name itself, or `other` beyond the limit. */
  of(name: string | null): string {
    if (name === null || name === '') return 'none';
    if (this.#known.has(name)) return name;
    if (this.#known.size >= maxNames) return 'other';
    this.#known.add(name);
    return name;
  }
}
