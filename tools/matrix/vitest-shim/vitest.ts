/**
 * Replaces vitest on runtimes where it does not run: every runtime of the matrix, in ES modules and in CommonJS.
 *
 * It is bundled into a package named `vitest`, so that core's published contract suite runs outside the workspace. It
 * implements only the functions that the suite uses, with the original `expect`.
 *
 * @module
 */
import {
  ASYMMETRIC_MATCHERS_OBJECT,
  chai,
  type ExpectStatic,
  getState,
  JestAsymmetricMatchers,
  JestChaiExpect,
  JestExtend,
  setState,
} from '@vitest/expect';
import type { ContractReport } from './contract-report.ts';

interface TestContext {
  /** Skips the rest of the test if the condition holds. */
  readonly skip: (condition: boolean, reason?: string) => void;
}

interface CollectedTest {
  readonly name: string;
  readonly run: (context: TestContext) => unknown;
}

/** The timeout of a test, longer than any scene takes on a busy machine, in milliseconds. */
const testTimeoutMs = 60_000;

class SkippedError extends Error {}

const folders: string[] = [];
const tests: CollectedTest[] = [];

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);

/** Assembled from the same parts as vitest's; the types of the parts do not express this. */
export const expect: ExpectStatic = Object.assign(
  (value: unknown, message?: string) => {
    setState({ assertionCalls: getState(expect).assertionCalls + 1 }, expect);
    return chai.expect(value, message);
  },
  chai.expect,
  Reflect.get(globalThis, ASYMMETRIC_MATCHERS_OBJECT),
) as unknown as ExpectStatic;
setState({ assertionCalls: 0 }, expect);

/** Chai's, as in vitest. */
export const assert: typeof chai.assert = chai.assert;

/** Contract tests do not use it, but tests in the same files import it. */
export const vi: object = {};

/** Collects the tests of a group. */
export function describe(name: string, collect: () => void): void {
  folders.push(name);
  collect();
  folders.pop();
}

/** Collects a test. */
export function test(name: string, run: CollectedTest['run']): void {
  tests.push({ name: [...folders, name].join(' › '), run });
}

test.for =
  <TCase>(cases: readonly TCase[]) =>
  (name: string, run: (given: TCase, context: TestContext) => unknown): void => {
    for (const given of cases) {
      test(name.replace(/%[a-z]/, JSON.stringify(given)), (context) => run(given, context));
    }
  };

/**
 * Runs the collected tests sequentially. Called by the generated contract program.
 *
 * @param isWanted - selects tests by their full name
 */
export async function runCollectedTests(isWanted: (name: string) => boolean): Promise<ContractReport> {
  const report: ContractReport = { passed: [], failed: [], skipped: [] };
  for (const { name, run } of tests.filter((collected) => isWanted(collected.name))) {
    try {
      await untilDone(run);
      report.passed.push(name);
    } catch (error) {
      if (error instanceof SkippedError) report.skipped.push({ name, reason: error.message });
      else report.failed.push({ name, reason: textOf(error) });
    }
  }
  return report;
}

async function untilDone(run: CollectedTest['run']): Promise<void> {
  let stop: (error: unknown) => void = () => {};
  const stopped = new Promise<never>((_resolve, reject) => {
    stop = reject;
  });
  const timer = setTimeout(() => stop(new Error(`The test timed out after ${testTimeoutMs / 1000} s.`)), testTimeoutMs);
  // As in vitest, an unhandled rejection is a failure.
  process.on('unhandledRejection', stop);
  try {
    const skip: TestContext['skip'] = (condition, reason = 'no reason given') => {
      if (condition) throw new SkippedError(reason);
    };
    await Promise.race([run({ skip }), stopped]);
  } finally {
    clearTimeout(timer);
    process.off('unhandledRejection', stop);
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? String(error)) : String(error);
}
