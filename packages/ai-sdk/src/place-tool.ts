import { hasFields } from '@agentlightning/core/adapter';

/** A call of a tool that is about to be made. */
export interface PlacedToolCall {
  readonly toolCallId: string;
  /** The very list of messages that the tool will be given: with the id it tells the call from others. */
  readonly messages: unknown;
  /** Runs a function in the call's place in the trace. */
  readonly within: <TResult>(run: () => TResult) => TResult;
}

interface Tool {
  execute?: ((input: unknown, options: ToolOptions) => unknown) | undefined;
}

interface ToolOptions {
  readonly toolCallId?: string;
  readonly messages?: unknown;
}

/** A tool that is being called, and how its `execute` is given back to it. */
interface Placing {
  readonly calls: Set<PlacedToolCall>;
  readonly restore: () => void;
}

/** Of all operations: concurrent ones share tools. */
const placings: WeakMap<Tool, Placing> = new WeakMap();

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

function place(tool: Tool): Placing | null {
  const { execute } = tool;
  const own = Object.getOwnPropertyDescriptor(tool, 'execute');
  if (execute === undefined || own?.configurable === false || !Object.isExtensible(tool)) return null;
  const calls = new Set<PlacedToolCall>();
  // A proxy, so that whatever else the user's function is, such as a spy, it still is.
  const placed = new Proxy(execute, {
    apply(target, self: unknown, [input, options]: [unknown, ToolOptions]) {
      const run = (): unknown => Reflect.apply(target, self, [input, options]);
      const call = [...calls].find(
        (other) => other.toolCallId === options?.toolCallId && other.messages === options.messages,
      );
      return call === undefined ? run() : placedResult(call.within(run), call);
    },
  });
  Object.defineProperty(tool, 'execute', { value: placed, configurable: true, enumerable: true, writable: true });
  const restore = (): void => {
    if (tool.execute !== placed) return;
    if (own === undefined) delete tool.execute;
    else Object.defineProperty(tool, 'execute', own);
  };
  const placing = { calls, restore };
  placings.set(tool, placing);
  return placing;
}

/** A tool that yields does its work while it is asked for more, which must happen in its place, too. */
function placedResult(result: unknown, { within }: PlacedToolCall): unknown {
  if (!hasFields(result) || !(Symbol.asyncIterator in result)) return result;
  const iterator = (result as unknown as AsyncIterable<unknown>)[Symbol.asyncIterator]();
  const placed: AsyncIterableIterator<unknown> = {
    [Symbol.asyncIterator]: () => placed,
    next: () => within(() => iterator.next()),
    return: (value) => within(() => iterator.return?.(value) ?? Promise.resolve({ done: true, value })),
  };
  return placed;
}
