/** A deterministic random source of numbers in `[0, 1)`. */
export type SeededRandom = () => number;

/**
 * Creates a random source from a seed: Weyl sequence and 32-bit mixer ("mulberry32", T. Ettinger, public domain). Not
 * cryptographically secure.
 *
 * @param seed - any integer; only its lowest 32 bits count
 */
export function seededRandom(seed: number): SeededRandom {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A shuffled copy: sorted by a random key, so every order is equally likely. */
export function shuffled<TItem>(items: readonly TItem[], random: SeededRandom): readonly TItem[] {
  const keyed = items.map((item) => ({ item, key: random() }));
  return keyed.sort((one, other) => one.key - other.key).map(({ item }) => item);
}
