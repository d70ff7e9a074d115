import type { ReactNode } from 'react';
import { type ChartSearch, chartSearch, smoothings } from '../chart-search.ts';

/** The axis and the smoothing of the charts of a page. */
export function ChartControls(props: {
  readonly search: ChartSearch;
  readonly onChange: (search: ChartSearch) => void;
}): ReactNode {
  const { search, onChange } = props;
  const { axis, smooth } = search;
  return (
    <>
      <label>
        Axis
        <select
          value={axis ?? 'step'}
          onChange={({ target }) => onChange({ axis: chartSearch({ axis: target.value }).axis, smooth })}
        >
          <option value="step">Step</option>
          <option value="time">Time</option>
        </select>
      </label>
      <label>
        Smoothing
        <select
          value={smooth ?? ''}
          onChange={({ target }) => onChange({ axis, smooth: chartSearch({ smooth: target.value }).smooth })}
        >
          <option value="">None</option>
          {smoothings.map((share) => (
            <option key={share} value={share}>
              {share}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}
