import { mean } from '../events/mean.ts';

const blocks = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/**
 * A curve as lines of text from top to bottom, with a scale on the left.
 *
 * @param values - in order; averaged in groups if there are more than `width`
 * @param size.height - in lines of eight levels each
 */
export function rewardCurve(
  values: readonly number[],
  size: { readonly width: number; readonly height: number },
): string[] {
  const points = resample(values, size.width);
  const low = Math.min(0, ...points);
  const high = Math.max(low + Number.EPSILON, 1, ...points);
  return Array.from({ length: size.height }, (_, row) => {
    const fromBottom = size.height - 1 - row;
    const columns = points.map((value) => {
      const levels = ((value - low) / (high - low)) * size.height * 8 - fromBottom * 8;
      return blocks[Math.max(0, Math.min(8, Math.round(levels)))] ?? ' ';
    });
    return `${scaleLabel({ row, height: size.height, low, high })} │${columns.join('')}`;
  });
}

function scaleLabel(options: {
  readonly row: number;
  readonly height: number;
  readonly low: number;
  readonly high: number;
}): string {
  const { row, height, low, high } = options;
  const value = row === 0 ? high : row === height - 1 ? low : null;
  return (value === null ? '' : value.toFixed(1)).padStart(5);
}

function resample(values: readonly number[], width: number): readonly number[] {
  if (values.length <= width)
    return values.flatMap((value) => Array<number>(Math.floor(width / values.length)).fill(value));
  return Array.from({ length: width }, (_, column) => {
    const from = Math.floor((column * values.length) / width);
    const to = Math.max(from + 1, Math.floor(((column + 1) * values.length) / width));
    const part = values.slice(from, to);
    return mean(part) ?? 0;
  });
}
