import type { RunKind } from '@agentlightning/core/protocol';
import type { QueryValues } from './data/api-client.ts';
import { choiceValue, definedValues, type SearchValues, textValue } from './search-values.ts';

/** Kinds of runs with their names, in order. */
export const kindLabels: Readonly<Record<RunKind, string>> = {
  training: 'training',
  'prompt-search': 'prompt search',
  evaluation: 'evaluation',
  dev: 'dev',
  deployment: 'deployment',
  dataset: 'data set',
};

/** Kinds of a list of runs: one, or all. */
const kindChoices = ['training', 'prompt-search', 'evaluation', 'deployment', 'dataset', 'dev', 'all'] as const;

/** Statuses that a list of runs is filtered by. */
export const statusChoices = ['queued', 'running', 'stopping', 'finished', 'failed', 'stopped'] as const;

/** The state of the list of runs, as in the URL. */
export interface RunsSearch {
  /** The chosen runs, separated by commas. */
  readonly compare?: string | undefined;
  readonly text?: string | undefined;
  /** Undefined for all kinds except `dev`. */
  readonly kind?: (typeof kindChoices)[number] | undefined;
  readonly state?: (typeof statusChoices)[number] | undefined;
  readonly tag?: string | undefined;
}

/** Reads the state from the URL; invalid values are ignored. */
export function runsSearch(values: SearchValues): RunsSearch {
  return definedValues({
    compare: textValue(values['compare']),
    text: textValue(values['text']),
    kind: choiceValue(kindChoices, values['kind']),
    state: choiceValue(statusChoices, values['state']),
    tag: textValue(values['tag']),
  });
}

/** The filters as parameters of the API. */
export function runParameters({ text, kind, state, tag }: RunsSearch): QueryValues {
  const kinds = kind === undefined ? 'training,prompt-search,evaluation,deployment' : kind === 'all' ? undefined : kind;
  return { text, kind: kinds, status: state, tag };
}

/** Maximum number of runs in a comparison. */
export const maxCompared = 8;

/** The runs of a comparison, from their ids separated by commas. */
export function runIdsOf(text: string | undefined): readonly string[] {
  const ids = (text ?? '').split(',').filter((id) => id !== '');
  return [...new Set(ids)].slice(0, maxCompared);
}
