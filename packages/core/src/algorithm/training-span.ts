/**
 * Which tokens a step made more or less likely is known only while it is planned. It is recorded as a span of the attempt: a
 * table by sequence would need its own operations, wire types and deletion for data that is read with the trace, and a metric
 * of the step would be read completely for one rollout. The id of the span follows from attempt, step and policy, so a repeated
 * step writes it once. It is not part of traces.
 *
 * @module
 */
import type { Attributes, Span, SpanInput } from '../spans/span.ts';
import { spanNames, trainingAttributes } from '../spans/span-attributes.ts';
import type { AttemptTraining, CallTraining, TrainingExclusion } from './attempt-training.ts';

/** Digits of recorded advantages. */
const digits = 5;

/** The training step that used an attempt. */
export interface TrainingStep {
  readonly step: number;
  /** Name of the trained policy; null for a single policy. */
  readonly policy: string | null;
}

/** An attempt as a training step used it. */
export interface RecordedTraining extends AttemptTraining, TrainingStep {}

/** The parts of the span of a training that do not follow from it. */
export type TrainingSpanFields = Pick<SpanInput, 'spanId' | 'traceId' | 'endTimeMs'>;

/** The span that records how a step trained on an attempt: about 300 bytes, and 8 for each value of a token. */
export function trainingToSpan(training: RecordedTraining, fields: TrainingSpanFields): SpanInput {
  const { rolloutId, attemptId, step, policy, calls } = training;
  const trained = calls.filter(({ exclusion }) => exclusion === null);
  const excluded = calls.flatMap(({ sequenceId, exclusion }) =>
    exclusion === null ? [] : [{ sequenceId, exclusion }],
  );
  const attributes: Attributes = {
    [trainingAttributes.step]: step,
    ...(policy === null ? {} : { [trainingAttributes.policy]: policy }),
    [trainingAttributes.calls]: trained.map(({ sequenceId }) => sequenceId),
    [trainingAttributes.advantages]: trained.map(({ advantage }) => rounded(advantage ?? 0)),
    ...tokenValues(trained, 'tokenAdvantages'),
    ...tokenValues(trained, 'trainerLogprobs'),
    ...(excluded.length === 0
      ? {}
      : {
          [trainingAttributes.excludedCalls]: excluded.map(({ sequenceId }) => sequenceId),
          [trainingAttributes.exclusions]: excluded.map(({ exclusion }) => exclusion),
        }),
  };
  return {
    ...fields,
    rolloutId,
    attemptId,
    parentId: null,
    name: spanNames.training,
    status: { code: 'UNSET', message: null },
    attributes,
    events: [],
    links: [],
    startTimeMs: fields.endTimeMs,
    resource: { attributes: {}, schemaUrl: '' },
  };
}

/** The training that a span records; null for other spans. */
export function trainingFromSpan(
  span: Pick<Span, 'rolloutId' | 'attemptId' | 'name' | 'attributes'>,
): RecordedTraining | null {
  const { rolloutId, attemptId, name, attributes } = span;
  const step = attributes[trainingAttributes.step];
  if (name !== spanNames.training || typeof step !== 'number') return null;
  const advantages = numbersIn(attributes, trainingAttributes.advantages);
  const exclusions = textsIn(attributes, trainingAttributes.exclusions);
  const policy = attributes[trainingAttributes.policy];
  const trained = numbersIn(attributes, trainingAttributes.calls).map((sequenceId, index): CallTraining => {
    return {
      sequenceId,
      advantage: advantages[index] ?? null,
      tokenAdvantages: tokenValuesIn(attributes, 'tokenAdvantages', sequenceId),
      trainerLogprobs: tokenValuesIn(attributes, 'trainerLogprobs', sequenceId),
      exclusion: null,
    };
  });
  const excluded = numbersIn(attributes, trainingAttributes.excludedCalls).map(
    (sequenceId, index): CallTraining => ({
      sequenceId,
      advantage: null,
      tokenAdvantages: null,
      trainerLogprobs: null,
      // Trusted: another text is shown unchanged.
      exclusion: (exclusions[index] ?? 'no-reward') as TrainingExclusion,
    }),
  );
  return {
    rolloutId,
    attemptId,
    step,
    policy: typeof policy === 'string' ? policy : null,
    calls: [...trained, ...excluded].sort((one, other) => one.sequenceId - other.sequenceId),
  };
}

/** The fields of a call with one value for each token. */
type TokenField = 'tokenAdvantages' | 'trainerLogprobs';

function tokenValues(calls: readonly CallTraining[], field: TokenField): Attributes {
  return Object.fromEntries(
    calls.flatMap(({ sequenceId, [field]: values }) =>
      values === null ? [] : [[`${trainingAttributes[field]}.${sequenceId}`, values.map(rounded)]],
    ),
  );
}

function tokenValuesIn(attributes: Attributes, field: TokenField, sequenceId: number): readonly number[] | null {
  const values = numbersIn(attributes, `${trainingAttributes[field]}.${sequenceId}`);
  return values.length === 0 ? null : values;
}

function rounded(value: number): number {
  return Number(value.toPrecision(digits));
}

function numbersIn(attributes: Attributes, name: string): readonly number[] {
  const values = attributes[name];
  return Array.isArray(values) ? values.filter((value) => typeof value === 'number') : [];
}

function textsIn(attributes: Attributes, name: string): readonly string[] {
  const values = attributes[name];
  return Array.isArray(values) ? values.filter((value) => typeof value === 'string') : [];
}
