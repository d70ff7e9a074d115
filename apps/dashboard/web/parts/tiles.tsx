import type { ReactNode } from 'react';

/** A figure with its label. */
export interface Tile {
  readonly label: string;
  readonly value: string;
  readonly note: string;
}

/** Figures in a grid. */
export function Tiles({ tiles }: { readonly tiles: readonly Tile[] }): ReactNode {
  return (
    <dl className="tiles">
      {tiles.map(({ label, value, note }) => (
        <div key={label} className="tile">
          <dt>{label}</dt>
          <dd className="foreign">
            {value}
            {note === '' ? null : <small>{note}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
