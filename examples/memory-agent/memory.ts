/** A memory of limited size: a new entry replaces the oldest one when it is full. */
export class Memory {
  readonly #capacity: number;
  readonly #entries: Map<string, number> = new Map();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** The keys, the oldest first. */
  get keys(): readonly string[] {
    return [...this.#entries.keys()];
  }

  /** Stores a value. An existing key gets the new value and becomes the newest. */
  file(key: string, value: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#capacity && oldest !== undefined) this.#entries.delete(oldest);
  }

  recall(key: string): number | undefined {
    return this.#entries.get(key);
  }
}
