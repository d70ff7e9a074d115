import { mean } from './mean.ts';

/**
 * Spearman's rank correlation: Pearson's correlation of the ranks, equal values having the mean of their ranks (Spearman 1904).
 *
 * @returns from -1 to 1; null where all values of one side are equal, and for fewer than two pairs
 */
export function rankCorrelation(pairs: readonly (readonly [number, number])[]): number | null {
  const left = ranks(pairs.map(([value]) => value));
  const right = ranks(pairs.map(([, value]) => value));
  const [leftMean, rightMean] = [mean(left) ?? 0, mean(right) ?? 0];
  let [product, leftSquare, rightSquare] = [0, 0, 0];
  for (const [index, rank] of left.entries()) {
    const [one, other] = [rank - leftMean, (right[index] ?? 0) - rightMean];
    product += one * other;
    leftSquare += one * one;
    rightSquare += other * other;
  }
  return leftSquare === 0 || rightSquare === 0 ? null : product / Math.sqrt(leftSquare * rightSquare);
}

function ranks(values: readonly number[]): readonly number[] {
  const order = values.map((value, index) => ({ value, index })).toSorted((one, other) => one.value - other.value);
  const found = values.map(() => 0);
  for (let start = 0; start < order.length; ) {
    let end = start;
    while (end < order.length && order[end]?.value === order[start]?.value) end += 1;
    for (const { index } of order.slice(start, end)) found[index] = (start + end - 1) / 2;
    start = end;
  }
  return found;
}
