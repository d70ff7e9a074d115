import { pythonicFormat } from './pythonic-format.ts';
import { type CalledTool, callOf, jsonOf, type ToolFormat } from './tool-format.ts';

/** The closing tag may be missing at the end of a truncated response. */
const hermesCall = /<tool_call>\s*([\s\S]*?)\s*(?:<\/tool_call>|$)/g;

/** `<tool_call>{"name": …, "arguments": {…}}</tool_call>`, any number, with text around them: Hermes, Qwen, and models derived from them. */
export const hermesFormat: ToolFormat = {
  name: 'hermes',
  markers: ['<tool_call>'],
  openings: [],
  isUsedBy: (template) => template.includes('<tool_call>'),
  parse(text) {
    const calls: CalledTool[] = [];
    const content = text.replace(hermesCall, (written, json: string) => {
      const call = callOf(jsonOf(json));
      if (call === null) return written;
      calls.push(call);
      return '';
    });
    return { content: calls.length > 0 ? content.trimEnd() : content, calls };
  },
};

const llamaTag = '<|python_tag|>';

/** `{"name": …, "parameters": {…}}` as the whole response, several separated by `;`, with or without the tag: Llama 3.1 and later. */
export const llama3JsonFormat: ToolFormat = {
  name: 'llama3_json',
  markers: [llamaTag],
  openings: ['{'],
  isUsedBy: (template) => template.includes(llamaTag) || template.includes('{"name": function name, "parameters"'),
  parse(text) {
    const trimmed = text.trim();
    const written = trimmed.startsWith(llamaTag) ? trimmed.slice(llamaTag.length).trim() : trimmed;
    const calls = objectsIn(written)?.map((json) => callOf(jsonOf(json)));
    const isCalls = calls !== undefined && calls.length > 0 && calls.every((call) => call !== null);
    return isCalls ? { content: '', calls } : { content: text, calls: [] };
  },
};

/** The JSON objects of a text of nothing else but separators; undefined for other texts. */
function objectsIn(text: string): readonly string[] | undefined {
  const found: string[] = [];
  for (let rest = text; rest !== ''; ) {
    const end = objectEnd(rest);
    if (end === undefined) return undefined;
    found.push(rest.slice(0, end));
    rest = rest.slice(end).replace(/^[; \n\t]+/, '');
  }
  return found;
}

/** The length of the object that a text begins with: where its braces, outside of strings, are closed. */
function objectEnd(text: string): number | undefined {
  if (!text.startsWith('{')) return undefined;
  let depth = 0;
  for (const match of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (match[0] === '{') depth += 1;
    else if (match[0] === '}') depth -= 1;
    if (depth === 0) return match.index + 1;
  }
  return undefined;
}

const mistralMark = '[TOOL_CALLS]';

const mistralNamed = /^\s*([\w.-]+)\s*(?:\[CALL_ID\]\s*\w+\s*)?\[ARGS\]([\s\S]*)$/;

/** `[TOOL_CALLS] [{"name": …, "arguments": {…}}]`, and the newer `[TOOL_CALLS]name[ARGS]{…}`, to the end of the response: Mistral. */
export const mistralFormat: ToolFormat = {
  name: 'mistral',
  markers: [mistralMark],
  openings: [],
  isUsedBy: (template) => template.includes(mistralMark),
  parse(text) {
    const [content = '', ...parts] = text.split(mistralMark);
    const found = parts.map(mistralCalls);
    if (found.length === 0 || found.some((calls) => calls.length === 0)) return { content: text, calls: [] };
    return { content: content.trimEnd(), calls: found.flat() };
  },
};

function mistralCalls(part: string): readonly CalledTool[] {
  const named = mistralNamed.exec(part);
  const listed = jsonOf(part.trim());
  const values = named
    ? [{ name: named[1], arguments: jsonOf(named[2] ?? '') ?? null }]
    : Array.isArray(listed)
      ? listed
      : [listed];
  const calls = values.flatMap((value) => callOf(value) ?? []);
  return calls.length === values.length ? calls : [];
}

/** Every format; the first is the default for models whose template describes none. */
const toolFormats: readonly [ToolFormat, ...ToolFormat[]] = [
  hermesFormat,
  mistralFormat,
  pythonicFormat,
  llama3JsonFormat,
];

/** The format that a chat template describes. */
export function toolFormatOf(chatTemplate: string): ToolFormat {
  return toolFormats.find((format) => format.isUsedBy(chatTemplate)) ?? toolFormats[0];
}
