/**
 * Sandboxes for programs of a model.
 *
 * @module
 */
import { stripTypeScriptTypes } from 'node:module';
import {
  getQuickJS,
  type InterruptHandler,
  type QuickJSContext,
  shouldInterruptAfterDeadline,
} from 'quickjs-emscripten';

/** The result of a program. */
export interface RunResult {
  /** 0 for a program that ended normally. */
  readonly exitCode: number;
  /** What it printed with `console.log`, or its error. */
  readonly result: string;
}

/**
 * A place to run programs. The interface is a subset of Daytona's `sandbox.process`, so that a remote sandbox can replace
 * the local one.
 */
export interface Sandbox {
  codeRun(code: string): Promise<RunResult>;
}

/** Limits of a program. */
export interface SandboxLimits {
  /** Maximum work, in steps of the engine, so that a program ends alike on every machine. @default 1,000,000 */
  readonly steps?: number;
  /** Maximum memory, in bytes. @default 4 MiB */
  readonly memoryBytes?: number;
  /** Maximum output, in characters; the rest is dropped. @default 2000 */
  readonly outputLength?: number;
}

/** The engine asks after this many steps whether to continue. */
const stepsBetweenInterrupts = 10_000;

/** The end of a program whose steps are slow, such as calls of built-in functions with long strings, in milliseconds. */
const longestRunMs = 2000;

/**
 * Runs TypeScript in QuickJS compiled to WebAssembly: a JavaScript engine without network, files, timers, modules and access to
 * this process. Each program has its own engine instance. Types are removed, not checked.
 */
export class QuickJsSandbox implements Sandbox {
  readonly #limits: Required<SandboxLimits>;

  constructor(limits: SandboxLimits = {}) {
    this.#limits = { steps: 1_000_000, memoryBytes: 4 * 2 ** 20, outputLength: 2000, ...limits };
  }

  async codeRun(code: string): Promise<RunResult> {
    const script = withoutTypes(code);
    if (typeof script !== 'string') return script;
    const runtime = (await getQuickJS()).newRuntime();
    try {
      runtime.setMemoryLimit(this.#limits.memoryBytes);
      runtime.setMaxStackSize(256 * 1024);
      runtime.setInterruptHandler(shouldInterruptAfterSteps(this.#limits.steps));
      const context = runtime.newContext();
      try {
        return this.#run(context, script);
      } finally {
        context.dispose();
      }
    } finally {
      runtime.dispose();
    }
  }

  #run(context: QuickJSContext, script: string): RunResult {
    let printed = '';
    const log = context.newFunction('log', (...values) => {
      const line = `${values.map((value) => String(context.dump(value))).join(' ')}\n`;
      printed = (printed + line).slice(0, this.#limits.outputLength);
    });
    const console = context.newObject();
    context.setProp(console, 'log', log);
    context.setProp(context.global, 'console', console);
    for (const handle of [log, console]) handle.dispose();
    const evaluated = context.evalCode(script, 'program.js');
    if (evaluated.error === undefined) {
      evaluated.value.dispose();
      return { exitCode: 0, result: printed };
    }
    const error: unknown = context.dump(evaluated.error);
    evaluated.error.dispose();
    return { exitCode: 1, result: errorText(error).slice(0, this.#limits.outputLength) };
  }
}

function shouldInterruptAfterSteps(steps: number): InterruptHandler {
  let interrupts = 0;
  const isLate = shouldInterruptAfterDeadline(Date.now() + longestRunMs);
  return (runtime) => ++interrupts > steps / stepsBetweenInterrupts || isLate(runtime);
}

/** JavaScript, or the result of a program with a syntax error. */
function withoutTypes(code: string): string | RunResult {
  try {
    return stripTypeScriptTypes(code);
  } catch (error) {
    return { exitCode: 1, result: `SyntaxError: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function errorText(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('message' in error)) return String(error);
  return `${'name' in error ? String(error.name) : 'Error'}: ${String(error.message)}`;
}
