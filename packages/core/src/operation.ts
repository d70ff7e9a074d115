import { toAttributeValue, toJsonText } from './attribute-value.ts';
import { flattenAttributes, type NestedAttributes } from './flatten-attributes.ts';
import { currentRollout } from './rollout-context.ts';
import { tracer } from './rollout-tracer.ts';
import type { Attributes } from './span.ts';
import { agentLightningAttributes, spanNames } from './span-attributes.ts';
import type { ActiveSpan } from './tracer.ts';

/** How to record a function. */
export interface OperationOptions {
  /** What it is called in the trace. @default the function's own name */
  readonly name?: string;
  /** Further attributes of every call's span. @default {} */
  readonly attributes?: Attributes;
}

/** More attributes than this for one value, and the value becomes one JSON text instead. */
const maxFlatAttributes = 64;

/**
 * Wraps a function so that every call of it is recorded, with its arguments, its result or its error.
 *
 * The wrapper takes, returns and throws exactly what the function does; outside of a rollout it only calls it.
 * Arguments are recorded under `agentlightning.operation.input.args.{i}`, the result under `….output`.
 * Values with no plain form (streams, class instances) are recorded as far as JSON has them.
 *
 * @example
 * ```ts
 * const search = operation(async (query: string) => index.find(query), { name: 'search' });
 * ```
 */
export function operation<TThis, TArguments extends readonly unknown[], TResult>(
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
  // The span ends after these handlers have run: they are attached first. A failure is recorded by the tracer.
  if (result instanceof Promise) result.then(record, () => {});
  else record(result);
}

/** Flat where the value is small and plain, so that single fields can be searched; JSON text otherwise. */
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

/** The value as JSON has it, without nulls; undefined where JSON does not have it. */
function toPlain(value: unknown): NestedAttributes | undefined {
  try {
    const text = JSON.stringify(value);
    return text === undefined ? undefined : withoutNulls(JSON.parse(text));
  } catch {
    // Cycles and big integers have no JSON; the text of the value is recorded instead.
    return undefined;
  }
}

/** JSON writes null where a list has a hole or a number is not finite; attributes have no null. */
function withoutNulls(value: unknown): NestedAttributes | undefined {
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item) ?? 'null');
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutNulls(item)]));
}
