import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

/** A slider over the steps of a run. */
export function StepScrubber(props: {
  readonly runId: string;
  /** Ascending; not empty. */
  readonly steps: readonly number[];
  /** Null for the latest step. */
  readonly selected: number | null;
  readonly onSelect: (step: number | null) => void;
  /** Further controls of the panels. */
  readonly children: ReactNode;
}): ReactNode {
  const { runId, steps, selected, onSelect, children } = props;
  const last = steps.length - 1;
  const index = selected === null ? last : nearestIndex(steps, selected);
  const step = steps[index] ?? 0;
  return (
    <section className="panel scrubber" aria-label="Step">
      <label className="slider">
        Step
        <input
          type="range"
          min={0}
          max={last}
          value={index}
          aria-valuetext={`step ${step}`}
          onChange={({ target }) => onSelect(steps[Number(target.value)] ?? null)}
        />
      </label>
      <output>{selected === null ? `${step}, the latest` : step}</output>
      <button type="button" disabled={selected === null} onClick={() => onSelect(null)}>
        Latest
      </button>
      <Link to="/rollouts" search={{ run: runId, step }}>
        Rollouts of step {step}
      </Link>
      {children}
    </section>
  );
}

/** The index of the last step that is not after the given one; 0 when all are. */
export function nearestIndex(steps: readonly number[], step: number): number {
  return Math.max(
    0,
    steps.findLastIndex((each) => each <= step),
  );
}
