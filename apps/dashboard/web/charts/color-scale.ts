/** The colour at a position, from 0 to 1, between three colours as `rgb(r, g, b)`. */
export function mixColors(colors: readonly [low: string, middle: string, high: string], position: number): string {
  const [low, middle, high] = colors;
  const bounded = Math.min(1, Math.max(0, position));
  return bounded < 0.5 ? between(low, middle, bounded * 2) : between(middle, high, bounded * 2 - 1);
}

function between(one: string, other: string, share: number): string {
  const [from, to] = [channelsOf(one), channelsOf(other)];
  const mixed = from.map((channel, index) => Math.round(channel + ((to[index] ?? channel) - channel) * share));
  return `rgb(${mixed.join(', ')})`;
}

function channelsOf(color: string): readonly number[] {
  return (color.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
}
