/**
 * A light switch: told to turn a lamp on or off, it does so with a tool and then says that it is done.
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

/** The agent of one house. */
function lightSwitch(house: House) {
  const turn = (isOn: boolean) =>
    tool({
      description: `Turns a lamp ${isOn ? 'on' : 'off'}.`,
      inputSchema: z.object({ lamp: z.string() }),
      execute: ({ lamp }) => {
        if (!house.has(lamp)) return 'no such lamp';
        house.set(lamp, isOn);
        return 'done';
      },
    });
  return new ToolLoopAgent({
    model: openai.chat('gpt-4.1-mini'),
    instructions: 'You switch lamps.',
    tools: { turn_on: turn(true), turn_off: turn(false) },
    stopWhen: hasToolCall('turn_on', 'turn_off'),
    telemetry: { functionId: 'light-switch' },
  });
}

/** Does what is asked, in this house; returns what the agent says about it. */
export async function switchLamps(request: string, house: House): Promise<string> {
  const { text } = await lightSwitch(house).generate({ prompt: request });
  return text;
}
