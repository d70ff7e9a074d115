/** How many different names of models metrics tell apart. */
const maxNames = 100;

/** Keeps labels few: agents may write any name for a model, and every label is kept for ever. */
export class LabelNames {
  readonly #known: Set<string> = new Set();

  /** The name itself, or `other` when there are too many already. */
  of(name: string | null): string {
    if (name === null || name === '') return 'none';
    if (this.#known.has(name)) return name;
    if (this.#known.size >= maxNames) return 'other';
    this.#known.add(name);
    return name;
  }
}
