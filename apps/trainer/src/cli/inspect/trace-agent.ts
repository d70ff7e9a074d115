import { withoutPasswords } from '@agentlightning/core/internal';
import {
  type AgentTrace,
  type TraceStep,
  terminalText,
  traceHtml,
  traceMermaid,
  traceOnce,
  traceSteps,
  traceSummary,
  traceText,
} from '@agentlightning/trace';
import { conversationLines } from '../../trace/conversation.ts';
import { loadAgent } from '../../user-modules/load-agent.ts';
import { errorText } from '../error-text.ts';
import { exitCodes } from '../exit-code.ts';
import { parseTaskFlag } from '../flags.ts';
import { listenToProcess } from '../process/listen-to-process.ts';
import { redirectStdout } from '../process/redirect-stdout.ts';
import { isColouredOutput, type ShowFormat, writeOutput } from './show-format.ts';

/** The flags of `agl trace`. */
export interface TraceFlags {
  readonly task: string;
  readonly format: ShowFormat;
  /** A file's path; `-` for the terminal. */
  readonly output: string;
  readonly json?: boolean;
}

/** A trace to draw. */
interface DrawnTrace {
  readonly trace: AgentTrace;
  readonly steps: readonly TraceStep[];
  readonly flags: TraceFlags;
}

/**
 * Runs an agent on one task and writes its trace.
 *
 * @returns the exit code
 * @throws AgentLightningError CONFIG for a task that is not JSON, or a module without an agent; errors of the module
 */
export async function traceAgent(file: string, flags: TraceFlags): Promise<number> {
  const task = parseTaskFlag(flags.task);
  const isDocument = flags.output === '-' && (flags.json === true || flags.format !== 'tree');
  // Output of the agent would make the document invalid.
  const stdout = isDocument ? redirectStdout() : null;
  const stop = listenToProcess({
    close: () => {},
    onWarning: (message) => process.stderr.write(`warning: ${message}\n`),
  });
  let trace: AgentTrace;
  try {
    const { agent, reward } = await loadAgent(file);
    trace = await traceOnce(agent, task, { signal: stop.signal, returnsReward: reward === undefined });
  } finally {
    stop.release();
    stdout?.release();
  }
  const shown = { trace, steps: traceSteps(trace.spans), flags };
  await writeOutput(flags.output, flags.json === true ? jsonText(trace) : draw[flags.format](shown));
  if (stop.signal.aborted) return exitCodes.interrupted;
  if (trace.error === null) return exitCodes.done;
  process.stderr.write(`${withoutPasswords(terminalText(errorText(trace.error)))}\n`);
  return exitCodes.failed;
}

const draw: Readonly<Record<ShowFormat, (trace: DrawnTrace) => string>> = {
  tree: ({ trace, steps, flags }) =>
    `${[
      traceText(steps, { isColoured: isColouredOutput(flags.output) }),
      traceSummary(steps),
      '',
      ...conversationLines(trace.spans),
    ].join('\n')}\n`,
  mermaid: ({ steps }) => `${traceMermaid(steps)}\n`,
  html: ({ steps, flags }) => traceHtml(steps, { title: 'Trace', facts: { task: flags.task } }),
};

function jsonText({ spans, reward, conversation, error }: AgentTrace): string {
  const message = error === null ? null : errorText(error);
  return `${JSON.stringify({ spans, reward, conversation, error: message }, null, 2)}\n`;
}
