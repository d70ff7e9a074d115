import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { runsQuery } from '../data/queries.ts';
import {
  type RolloutFilters,
  rolloutFilters,
  rolloutLabels,
  rolloutModes,
  rolloutSorts,
  rolloutStatuses,
} from '../rollout-filters.ts';

const sortLabels: Readonly<Record<(typeof rolloutSorts)[number], string>> = {
  newest: 'Newest first',
  oldest: 'Oldest first',
  'reward-high': 'Highest reward',
  'reward-low': 'Lowest reward',
};

/** The filters of a list of rollouts. */
export function RolloutFilterBar(props: {
  readonly filters: RolloutFilters;
  readonly onChange: (filters: RolloutFilters) => void;
}): ReactNode {
  const { filters, onChange } = props;
  const { data: runs } = useQuery(runsQuery());
  const set = (name: keyof RolloutFilters, value: string): void =>
    onChange(rolloutFilters({ ...filters, [name]: value }));
  const runOptions = runs?.items.map(({ runId, name }): readonly [string, string] => [runId, `${name} (${runId})`]);
  return (
    <search className="filters">
      <TextFilter label="Text (words, prefix*)" name="text" value={filters.text} set={set} isSearch />
      <TextFilter label="Rollout id" name="id" value={filters.id} set={set} />
      <Choice label="Run" name="run" value={filters.run} set={set} options={runOptions ?? []} />
      <Choice label="Status" name="status" value={filters.status} set={set} options={pairs(rolloutStatuses)} />
      <Choice label="Mode" name="mode" value={filters.mode} set={set} options={pairs(rolloutModes)} />
      <TextFilter label="Task" name="task" value={filters.task} set={set} type="number" />
      <TextFilter label="Step" name="step" value={filters.step} set={set} type="number" />
      <Choice label="Label" name="label" value={filters.label} set={set} options={pairs(rolloutLabels)} />
      <TextFilter label="Reward from" name="minReward" value={filters.minReward} set={set} type="number" />
      <TextFilter label="Reward to" name="maxReward" value={filters.maxReward} set={set} type="number" />
      <Choice
        label="Order"
        name="sort"
        value={filters.sort}
        set={set}
        options={rolloutSorts.map((sort) => [sort, sortLabels[sort]] as const)}
      />
      {Object.keys(filters).length === 0 ? null : (
        <button type="button" onClick={() => onChange({})}>
          Clear
        </button>
      )}
    </search>
  );
}

type Setter = (name: keyof RolloutFilters, value: string) => void;

function TextFilter(props: {
  readonly label: string;
  readonly name: keyof RolloutFilters;
  readonly value: string | number | undefined;
  readonly set: Setter;
  readonly type?: 'number';
  readonly isSearch?: boolean;
}): ReactNode {
  const { label, name, value, set, type = 'search', isSearch = false } = props;
  return (
    <label>
      {label}
      <input
        type={type}
        step="any"
        value={value ?? ''}
        onChange={({ target }) => set(name, target.value)}
        {...(isSearch ? { 'data-search': '' } : {})}
      />
    </label>
  );
}

function Choice(props: {
  readonly label: string;
  readonly name: keyof RolloutFilters;
  readonly value: string | undefined;
  readonly set: Setter;
  readonly options: readonly (readonly [value: string, text: string])[];
}): ReactNode {
  const { label, name, value = '', set, options } = props;
  const isKnown = value === '' || options.some(([option]) => option === value);
  return (
    <label>
      {label}
      <select value={value} onChange={({ target }) => set(name, target.value)}>
        <option value="">{name === 'sort' ? 'Default' : 'All'}</option>
        {isKnown ? null : <option value={value}>{value}</option>}
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

function pairs(values: readonly string[]): readonly (readonly [string, string])[] {
  return values.map((value) => [value, value]);
}
