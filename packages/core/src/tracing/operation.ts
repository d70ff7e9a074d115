import { toAttributeValue, toJsonText } from '../spans/attribute-value.ts';
import { flattenAttributes, type NestedAttributes } from '../spans/flatten-attributes.ts';
import type { Attributes } from '../spans/span.ts';
import { agentLightningAttributes, spanNames } from '../spans/span-attributes.ts';
import { currentRollout } from './rollout-context.ts';
import { tracer } from './rollout-tracer.ts';
import type { ActiveSpan } from './tracer.ts';

/** Options of {@link asOperation}. */
export interface OperationOptions {
  /** Span name. @default the function's name */
  readonly name?: string;
  /** Further attributes of every call's span. @default {} */
  readonly attributes?: Attributes;
}

/** A value with more attributes than this is recorded as one JSON text. */
const maxFlatAttributes = 64;

/**
 * Wraps a function so that every call is recorded with its arguments and its result or error.
 *
 * The wrapper does not change arguments, results or errors; outside of a rollout it only calls the function.
 * Arguments are recorded under `agentlightning.operation.input.args.{i}`, the result under `….output`.
 * Values without a plain form (streams, class instances) are recorded as far as JSON represents them.
 *
 * @example
 * ```ts
 * const search = asOperation(async (query: string) => index.find(query), { name: 'search' });
 * ```
 */
export function asOperation<TThis, TArguments extends readonly unknown[], TResult>(
  run: (this: TThis, ...args: TArguments) => TResult,
  options: OperationOptions = {},
): (this: TThis, ...args: TArguments) => TResult {
  const attributes = {
    [agentLightningAttributes.operationName]: options.name ?? (run.name || 'anonymous'),
    ...options.attributes,
  };
  return function recorded(this: TThis, ...args: TArguments): TResult {
    if (currentRollout() === null) return run.apply(this, args as unknown as TArguments & unknown[]);
    return tracer.withSpan(
      spanNames.operation,
      (span) => {
        args.forEach((argument, index) => {
          recordValue(span, `${agentLightningAttributes.operationInput}.args.${index}`, argument);
        });
        const result = run.apply(this, args as unknown as TArguments & unknown[]);
        recordResult(span, result);
        return result;
      },
      { attributes },
    );
  };
}

function recordResult(span: ActiveSpan, result: unknown): void {
  const record = (value: unknown): void => recordValue(span, agentLightningAttributes.operationOutput, value);
  // These handlers are attached first and run before the span ends. The tracer records failures.
  if (result instanceof Promise) result.then(record, () => {});
  else record(result);
}

/** Flat for small plain values, so that single fields can be searched; JSON text otherwise. */
function recordValue(span: ActiveSpan, prefix: string, value: unknown): void {
  if (value === undefined) return;
  const plain = toPlain(value);
  if (plain === undefined) {
    span.setAttribute(prefix, toAttributeValue(value) ?? 'null');
    return;
  }
  const flat = flattenAttributes(plain, { prefix });
  if (Object.keys(flat).length <= maxFlatAttributes) span.setAttributes(flat);
  else span.setAttribute(prefix, toJsonText(value));
}

/** The JSON form of a value, without nulls; undefined without a JSON form. */
function toPlain(value: unknown): NestedAttributes | undefined {
  try {
    const text = JSON.stringify(value);
    return text === undefined ? undefined : withoutNulls(JSON.parse(text));
  } catch {
    // Cycles and big integers have no JSON form; the string form is recorded instead.
    return undefined;
  }
}

/** JSON has null for holes and non-finite numbers; attributes have no null. */
function withoutNulls(value: unknown): NestedAttributes | undefined {
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item) ?? 'null');
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutNulls(item)]));
}
