import * as z from 'zod';
import { isObject, parseObject } from '../base/json-access.ts';
import { calledModel } from '../spans/called-model.ts';
import type { Span } from '../spans/span.ts';
import { agentLightningAttributes, genAiAttributes, modelCallAttributes, spanNames } from '../spans/span-attributes.ts';

/** Token counts of the recorded calls of one model. */
export interface ModelUsage {
  /** Name of the model that responded. */
  readonly model: string;
  /** Whether a training runtime served the calls: its responses have a policy version. */
  readonly isPolicy: boolean;
  /** Number of model calls. */
  readonly calls: number;
  /** Tokens of the prompts, cached ones included. */
  readonly inputTokens: number;
  /** Tokens of the prompts that the model server had cached. */
  readonly cachedInputTokens: number;
  /** Number of generated tokens. */
  readonly outputTokens: number;
}

/** A usage in the state of a run. Marked as pure: bundles of agents leave it out. */
export const modelUsageSchema: z.ZodType<ModelUsage> = /* @__PURE__ */ (() =>
  z.object({
    model: z.string(),
    isPolicy: z.boolean(),
    calls: z.int(),
    inputTokens: z.int(),
    cachedInputTokens: z.int(),
    outputTokens: z.int(),
  }))();

/** Maximum characters of a model name; longer ones are cut. */
const maxNameLength = 200;

/** Maximum tokens of one call; more are a false report. */
const maxTokens = 1e9;

/**
 * The token usage of the model calls that a gateway or a recording `fetch` captured, and of judges, by model. The steps of
 * framework adapters are omitted: they are about the same calls.
 */
export function usageOfSpans(spans: Iterable<Pick<Span, 'name' | 'attributes'>>): readonly ModelUsage[] {
  const byModel = new Map<string, ModelUsage>();
  for (const span of spans) {
    for (const usage of usageOfSpan(span)) {
      const key = `${usage.isPolicy} ${usage.model}`;
      const known = byModel.get(key);
      byModel.set(key, known === undefined ? usage : addUsage(known, usage));
    }
  }
  return [...byModel.values()];
}

/** The sum of two usages of the same model. */
export function addUsage(one: ModelUsage, other: ModelUsage): ModelUsage {
  return {
    ...one,
    calls: one.calls + other.calls,
    inputTokens: one.inputTokens + other.inputTokens,
    cachedInputTokens: one.cachedInputTokens + other.cachedInputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
  };
}

function usageOfSpan(span: Pick<Span, 'name' | 'attributes'>): readonly ModelUsage[] {
  if (span.name === spanNames.modelCall) return [usageOfCall(span)];
  const judges = span.name === spanNames.annotation ? span.attributes[agentLightningAttributes.judgeUsage] : undefined;
  return typeof judges === 'string' ? usageOfJudges(judges) : [];
}

function usageOfJudges(text: string): readonly ModelUsage[] {
  return Object.entries(parseObject(text) ?? {}).flatMap(([model, use]) => {
    if (!isObject(use)) return [];
    const { calls, inputTokens, outputTokens } = use;
    return [
      {
        model: nameOf(model),
        isPolicy: false,
        calls: tokensOf(calls),
        inputTokens: tokensOf(inputTokens),
        cachedInputTokens: 0,
        outputTokens: tokensOf(outputTokens),
      },
    ];
  });
}

/** A name of a bounded length; PostgreSQL has no NUL in text. */
function nameOf(name: string): string {
  return name.slice(0, maxNameLength).replaceAll('\0', '');
}

function usageOfCall({ attributes }: Pick<Span, 'attributes'>): ModelUsage {
  const { name } = calledModel(attributes);
  const inputTokens = tokensOf(attributes[genAiAttributes.usageInputTokens]);
  return {
    model: nameOf(name ?? ''),
    isPolicy: typeof attributes[modelCallAttributes.policyVersion] === 'number',
    calls: 1,
    inputTokens,
    cachedInputTokens: Math.min(inputTokens, tokensOf(attributes[genAiAttributes.usageCachedInputTokens])),
    outputTokens: tokensOf(attributes[genAiAttributes.usageOutputTokens]),
  };
}

/** Spans may come from any client: only plausible counts are used. */
function tokensOf(value: unknown): number {
  return typeof value === 'number' && value >= 0 && value <= maxTokens ? Math.trunc(value) : 0;
}
