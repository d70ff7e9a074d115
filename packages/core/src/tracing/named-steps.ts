import { toJsonText } from '../spans/attribute-value.ts';
import type { Attributes } from '../spans/span.ts';
import { agentLightningAttributes, genAiAttributes } from '../spans/span-attributes.ts';
import { currentRollout } from './rollout-context.ts';
import { tracer } from './rollout-tracer.ts';
import { withAgent } from './with-agent.ts';

/** A function with its `this`, whose wrapper has the same type. */
export type NamedFunction<TThis, TArguments extends readonly unknown[], TResult> = (
  this: TThis,
  ...args: TArguments
) => TResult;

/** A decorator of class methods (TC39). */
export type NamingDecorator = <TThis, TArguments extends readonly unknown[], TResult>(
  method: NamedFunction<TThis, TArguments, TResult>,
  context: ClassMethodDecoratorContext,
) => NamedFunction<TThis, TArguments, TResult>;

/**
 * Names an agent: every call of the function is an invocation of the agent, whose model calls carry its name. Nested agents
 * form a path, such as `planner>critic`. Outside of a rollout it only calls the function.
 *
 * As a decorator it names a method, by default after itself.
 *
 * @example
 * ```ts
 * const plan = asAgent('planner', async (goal: string) => await askModel(goal));
 *
 * class Team {
 *   @asAgent('planner')
 *   async plan(goal: string) {
 *     return await this.askModel(goal);
 *   }
 * }
 * ```
 */
export function asAgent<TThis, TArguments extends readonly unknown[], TResult>(
  name: string,
  run: NamedFunction<TThis, TArguments, TResult>,
): NamedFunction<TThis, TArguments, TResult>;
/** A decorator of methods that records an agent. */
export function asAgent(name?: string): NamingDecorator;
export function asAgent<TThis, TArguments extends readonly unknown[], TResult>(
  name?: string,
  run?: NamedFunction<TThis, TArguments, TResult>,
): NamingDecorator | NamedFunction<TThis, TArguments, TResult> {
  return named<TThis, TArguments, TResult>((known, _, call) => withAgent(known, call), { name, run });
}

/**
 * Names a tool: every call of the function is recorded as a tool call, with its arguments and its result or error; model
 * calls and agents within are its children. Outside of a rollout it only calls the function.
 *
 * As a decorator it names a method, by default after itself. Where an adapter records the tools of a framework, it is not
 * necessary.
 *
 * @example
 * ```ts
 * const search = asTool('search', async (query: string) => await index.find(query));
 * ```
 */
export function asTool<TThis, TArguments extends readonly unknown[], TResult>(
  name: string,
  run: NamedFunction<TThis, TArguments, TResult>,
): NamedFunction<TThis, TArguments, TResult>;
/** A decorator of methods that records a tool. */
export function asTool(name?: string): NamingDecorator;
export function asTool<TThis, TArguments extends readonly unknown[], TResult>(
  name?: string,
  run?: NamedFunction<TThis, TArguments, TResult>,
): NamingDecorator | NamedFunction<TThis, TArguments, TResult> {
  return named<TThis, TArguments, TResult>(callTool, { name, run });
}

/** Records one call of a named function. */
type RecordCall = <TResult>(name: string, args: readonly unknown[], call: () => TResult) => TResult;

interface NamedOptions<TThis, TArguments extends readonly unknown[], TResult> {
  readonly name: string | undefined;
  readonly run: NamedFunction<TThis, TArguments, TResult> | undefined;
}

function named<TThis, TArguments extends readonly unknown[], TResult>(
  record: RecordCall,
  { name, run }: NamedOptions<TThis, TArguments, TResult>,
): NamingDecorator | NamedFunction<TThis, TArguments, TResult> {
  if (run !== undefined) return recorded(record, { name: name ?? run.name, run });
  const decorate: NamingDecorator = <TOwner, TInputs extends readonly unknown[], TOutput>(
    method: NamedFunction<TOwner, TInputs, TOutput>,
    context: ClassMethodDecoratorContext,
  ) => recorded(record, { name: name ?? String(context.name), run: method });
  return decorate;
}

function recorded<TThis, TArguments extends readonly unknown[], TResult>(
  record: RecordCall,
  { name, run }: { readonly name: string; readonly run: NamedFunction<TThis, TArguments, TResult> },
): NamedFunction<TThis, TArguments, TResult> {
  return function namedFunction(this: TThis, ...args: TArguments): TResult {
    const call = (): TResult => Reflect.apply(run, this, args);
    return currentRollout() === null ? call() : record(name, args, call);
  };
}

const callTool: RecordCall = (name, args, call) =>
  tracer.withSpan(
    `execute_tool ${name}`,
    (span) => {
      const result = call();
      const record = (value: unknown): void => {
        if (value !== undefined) span.setAttribute(genAiAttributes.toolCallResult, textOf(value));
      };
      // Attached first: it runs before the span ends. The tracer records failures.
      if (result instanceof Promise) result.then(record, () => {});
      else record(result);
      return result;
    },
    { attributes: toolAttributes(name, args) },
  );

function toolAttributes(name: string, args: readonly unknown[]): Attributes {
  return {
    [agentLightningAttributes.stepKind]: 'tool-call',
    [genAiAttributes.operationName]: 'execute_tool',
    [genAiAttributes.toolName]: name,
    [genAiAttributes.toolCallArguments]: textOf(args.length === 1 ? args[0] : args),
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : toJsonText(value);
}
