/**
 * Agents, model calls and spans inside a tool belong to its tool call. Version 7 lets an integration run a tool's `execute`;
 * version 6 only reports start and end of a call, outside of the asynchronous context of the tool. Delete this file when
 * support for version 6 ends.
 *
 * @module
 */
import { iterateWithin, patchMethod, type Within } from '@agentlightning/core/adapter';
import { fieldsOf, hasFields, hasMethod, isAsyncIterable } from '@agentlightning/core/internal';

/** A tool call that is about to be made. */
export interface ToolCallInProgress {
  readonly toolCallId: string;
  /** The message array of the call: its identity and the id distinguish concurrent calls. */
  readonly messages: unknown;
  /** Runs a function in the context of the tool call. */
  readonly within: Within;
}

/** The calls in progress of a patched tool, and the undo of the patch. */
interface ToolPatch {
  readonly calls: Set<ToolCallInProgress>;
  readonly restore: () => void;
}

/** Shared by all operations, because concurrent operations may share tools. */
const toolPatches: WeakMap<object, ToolPatch> = new WeakMap();

/**
 * Runs a tool call in its context in version 6, which has no hook for that.
 *
 * The tool's `execute` is patched during its calls and restored afterwards. Tools that cannot be patched are left unchanged.
 *
 * @param tool - the user's tool
 * @returns a function to call at the end of the tool call
 */
export function patchTool(tool: unknown, call: ToolCallInProgress): () => void {
  if (!hasFields(tool)) return () => {};
  const toolPatch = toolPatches.get(tool) ?? applyPatch(tool);
  toolPatch?.calls.add(call);
  return () => {
    toolPatch?.calls.delete(call);
    if (toolPatch?.calls.size !== 0) return;
    toolPatches.delete(tool);
    toolPatch.restore();
  };
}

function applyPatch(tool: object): ToolPatch | null {
  const { configurable = true } = Object.getOwnPropertyDescriptor(tool, 'execute') ?? {};
  if (!hasMethod(tool, 'execute') || !configurable || !Object.isExtensible(tool)) return null;
  const calls = new Set<ToolCallInProgress>();
  const restore = patchMethod(tool, 'execute', (execute) => {
    return function (this: unknown, input, options): unknown {
      const run = (): unknown => execute.call(this, input, options);
      const { toolCallId, messages } = fieldsOf(options);
      const call = [...calls].find((other) => other.toolCallId === toolCallId && other.messages === messages);
      return call === undefined ? run() : resultWithin(call.within(run), call);
    };
  });
  const toolPatch = { calls, restore };
  toolPatches.set(tool, toolPatch);
  return toolPatch;
}

/** An async generator runs while it is iterated, which must happen in the context of the call too. */
function resultWithin(result: unknown, { within }: ToolCallInProgress): unknown {
  return isAsyncIterable(result) ? iterateWithin(result, within) : result;
}
