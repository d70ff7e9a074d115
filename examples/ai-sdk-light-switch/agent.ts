/**
 * The lamps of a house: asked whether a lamp is on, or instructed to switch it on, the agent does so with a tool. What the tool
 * says is the answer.
 *
 * An ordinary agent on the Vercel AI SDK. Nothing in this file is about training.
 *
 * @module
 */
import { openai } from '@ai-sdk/openai';
import { hasToolCall, ToolLoopAgent, tool } from 'ai';
import { z } from 'zod';

/** Which lamps there are in a house, and which of them are on. */
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

/** Does what is asked, in this house; returns the answer. */
export async function tendLamps(request: string, house: House): Promise<string> {
  const { text, toolResults } = await lightSwitch(house).generate({ prompt: request });
  return String(toolResults[0]?.output ?? text);
}
