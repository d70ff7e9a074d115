/**
 * The lamps of a house: the agent reads or switches a lamp with a tool, and returns the result of the tool.
 *
 * An ordinary agent on the Vercel AI SDK. Nothing in this file is about training.
 *
 * @module
 */
import { openai } from '@ai-sdk/openai';
import { hasToolCall, ToolLoopAgent, tool } from 'ai';
import { z } from 'zod';

/** The lamps of a house, and whether each is on. */
export type House = Map<string, boolean>;

const inputSchema = z.object({ lamp: z.string() });

/** The agent of one house. */
function lightSwitch(house: House) {
  return new ToolLoopAgent({
    model: openai.chat('gpt-4.1-mini'),
    instructions: 'You tend the lamps.',
    tools: {
      check: tool({
        description: 'Tells whether a lamp is on.',
        inputSchema,
        execute: ({ lamp }) =>
          house.has(lamp) ? `${lamp} is ${house.get(lamp) === true ? 'on' : 'off'}.` : 'No such lamp.',
      }),
      switch_on: tool({
        description: 'Switches a lamp on.',
        inputSchema,
        execute: ({ lamp }) => {
          if (!house.has(lamp)) return 'No such lamp.';
          house.set(lamp, true);
          return `Switched ${lamp} on.`;
        },
      }),
    },
    stopWhen: hasToolCall('check', 'switch_on'),
    telemetry: { functionId: 'light-switch' },
  });
}

/** Handles a request in this house and returns the answer. */
export async function tendLamps(request: string, house: House): Promise<string> {
  const { text, toolResults } = await lightSwitch(house).generate({ prompt: request });
  return String(toolResults[0]?.output ?? text);
}
