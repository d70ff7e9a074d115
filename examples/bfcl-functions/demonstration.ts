import { z } from 'zod';
import { apiName, type FunctionCall } from './checker/check-calls.ts';
import { Float, isDict, isList, type PythonValue, parsePython } from './checker/python-value.ts';
import type { BfclTask } from './task.ts';
import { toolsOf } from './tools.ts';

const jsonObjects = z.array(z.record(z.string(), z.json()));

/** The right call of a task: the first accepted value of each argument that may not be left out; null if no function fits. */
export function demonstratedCall({ expected, functions }: BfclTask): FunctionCall | null {
  if (expected === null) return null;
  const [name, accepted] = onlyEntry(parsePython(expected));
  const required = functions.find((candidate) => candidate.name === name)?.parameters.required ?? [];
  const given = Object.entries(isDict(accepted) ? accepted : {}).flatMap(([key, values]) => {
    const choices = isList(values) ? values : [];
    const isOptional = choices.includes('') && !required.includes(key);
    const choice = choices.find((value) => value !== '') ?? '';
    return isOptional ? [] : [`${JSON.stringify(key)}: ${calledText(choice)}`];
  });
  return { name: apiName(name), arguments: `{${given.join(', ')}}` };
}

/**
 * An accepted value in a call, as JSON text: the parameters of a dictionary have lists of accepted values, and a float has
 * a fraction.
 */
function calledText(value: PythonValue): string {
  if (value instanceof Float) return Number.isInteger(value.value) ? value.value.toFixed(1) : String(value.value);
  if (isList(value)) return `[${value.map(calledText).join(', ')}]`;
  if (!isDict(value)) return JSON.stringify(value);
  const entries = Object.entries(value).map(([key, choices]) => {
    const choice = isList(choices) ? (choices[0] ?? null) : choices;
    return `${JSON.stringify(key)}: ${calledText(choice)}`;
  });
  return `{${entries.join(', ')}}`;
}

/** The agent's conversation about a task with its right call, in the format of `agl dataset`. */
export function conversation(task: BfclTask) {
  const call = demonstratedCall(task);
  return {
    messages: [
      { role: 'user', content: task.question },
      {
        role: 'assistant',
        content: call === null ? 'No function fits.' : null,
        ...(call && { tool_calls: [{ id: 'call_0', type: 'function', function: { ...call } }] }),
      },
    ],
    tools: jsonObjects.parse(toolsOf(task.functions)),
  };
}

function onlyEntry(value: PythonValue): readonly [name: string, accepted: PythonValue] {
  return (isDict(value) ? Object.entries(value)[0] : undefined) ?? ['', null];
}
