import type { Cost } from '@agentlightning/core/store';
import type { ReactNode } from 'react';
import { costText } from '../data/format.ts';

/** A figure with its label. */
export interface Tile {
  readonly label: string;
  readonly value: string;
  readonly note: string;
}

/** The tile of a cost; none without prices. */
export function costTiles(cost: Cost): readonly Tile[] {
  if (cost.amount === null) return [];
  return [{ label: 'Cost', value: costText(cost), note: cost.missing.join('; ') }];
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
