import type { ReactNode } from 'react';

const width = 120;
const height = 28;
const margin = 2;

/** A small curve without axes. */
export function Sparkline(props: { readonly values: readonly number[]; readonly label: string }): ReactNode {
  const { values, label } = props;
  if (values.length < 2) return <span className="muted">–</span>;
  const low = Math.min(...values);
  const high = Math.max(...values);
  const points = values
    .map((value, index) => {
      const x = margin + (index / (values.length - 1)) * (width - 2 * margin);
      const y = margin + (1 - (high === low ? 0.5 : (value - low) / (high - low))) * (height - 2 * margin);
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    })
    .join(' ');
  return (
    <svg className="sparkline" width={width} height={height} role="img" aria-label={label}>
      <polyline points={points} />
    </svg>
  );
}
