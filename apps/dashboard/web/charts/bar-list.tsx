import type { ReactNode } from 'react';

/** A bar with its label and its value as text. */
export interface Bar {
  readonly label: string;
  readonly value: number;
  readonly text: string;
}

/** Horizontal bars on a common scale, largest first. */
export function BarList({ bars }: { readonly bars: readonly Bar[] }): ReactNode {
  const largest = Math.max(...bars.map(({ value }) => value), 0);
  return (
    <dl className="bars">
      {[...bars]
        .sort((one, other) => other.value - one.value)
        .map(({ label, value, text }) => (
          <div key={label}>
            <dt className="foreign">{label}</dt>
            <dd>
              <meter min={0} max={largest || 1} value={value} aria-label={label} />
            </dd>
            <dd>{text}</dd>
          </div>
        ))}
    </dl>
  );
}
