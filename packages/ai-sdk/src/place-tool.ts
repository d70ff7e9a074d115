import { fieldsOf, hasFields, hasMethod, iterateWithin, patchMethod, type Within } from '@agentlightning/core/adapter';

/** A call of a tool that is about to be made. */
export interface PlacedToolCall {
  readonly toolCallId: string;
  /** The very list of messages that the tool will be given: with the id it tells the call from others. */
  readonly messages: unknown;
  /** Runs a function in the call's place in the trace. */
  readonly within: Within;
}

/** A tool that is being called, and how its `execute` is given back to it. */
interface Placing {
  readonly calls: Set<PlacedToolCall>;
  readonly restore: () => void;
}

/** Of all operations: concurrent ones share tools. */
const placings: WeakMap<object, Placing> = new WeakMap();

/**
 * Runs a call of a tool in its place, in version 6, which gives no way to do that.
 *
 * While a tool is being called, its `execute` is one that runs the call in its place; before and after, the user's tool
 * is as the user made it. Tools that cannot be changed are left alone.
 *
 * @param tool - the user's tool
 * @returns tells that the call is over
 */
export function placeTool(tool: unknown, call: PlacedToolCall): () => void {
  if (!hasFields(tool)) return () => {};
  const placing = placings.get(tool) ?? place(tool);
  placing?.calls.add(call);
  return () => {
    placing?.calls.delete(call);
    if (placing?.calls.size !== 0) return;
    placings.delete(tool);
    placing.restore();
  };
}

function place(tool: object): Placing | null {
  const { configurable = true } = Object.getOwnPropertyDescriptor(tool, 'execute') ?? {};
  if (!hasMethod(tool, 'execute') || !configurable || !Object.isExtensible(tool)) return null;
  const calls = new Set<PlacedToolCall>();
  const restore = patchMethod(tool, 'execute', (execute) => {
    return function (this: unknown, input, options): unknown {
      const run = (): unknown => execute.call(this, input, options);
      const { toolCallId, messages } = fieldsOf(options);
      const call = [...calls].find((other) => other.toolCallId === toolCallId && other.messages === messages);
      return call === undefined ? run() : placedResult(call.within(run), call);
    };
  });
  const placing = { calls, restore };
  placings.set(tool, placing);
  return placing;
}

/** A tool that yields does its work while it is asked for more, which must happen in its place, too. */
function placedResult(result: unknown, { within }: PlacedToolCall): unknown {
  return isIterable(result) ? iterateWithin(result, within) : result;
}

function isIterable(result: unknown): result is AsyncIterable<unknown> {
  return hasFields(result) && Symbol.asyncIterator in result;
}
