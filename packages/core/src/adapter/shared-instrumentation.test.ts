import { describe, expect, test } from 'vitest';
import { unsupportedFramework } from './framework-version.ts';
import { sharedInstrumentation } from './shared-instrumentation.ts';

describe('shared instrumentation', () => {
  test('is applied once, with the options of the first caller, and undone by the last', () => {
    const done: string[] = [];
    const instrument = sharedInstrumentation<string>('first', (name, undos) => {
      done.push(`do ${name}`);
      undos.push(
        () => done.push('undo first'),
        () => done.push('undo second'),
      );
    });
    const [undoOne, undoTwo] = [instrument('one'), instrument('two')];
    undoOne();
    undoOne();
    expect(done).toEqual(['do one']);
    undoTwo();
    expect(done).toEqual(['do one', 'undo second', 'undo first']);
    instrument('three')();
    expect(done.slice(3)).toEqual(['do three', 'undo second', 'undo first']);
  });

  test('is shared by two copies of an adapter', () => {
    const done: string[] = [];
    const copies = ['one', 'two'].map((copy) =>
      sharedInstrumentation<null>('copied', (_, undos) => {
        done.push(`do ${copy}`);
        undos.push(() => done.push(`undo ${copy}`));
      }),
    );
    for (const undo of copies.map((instrument) => instrument(null))) undo();
    expect(done).toEqual(['do one', 'undo one']);
  });

  test('rolls back a partial failure, warns once with the remedy, and can be retried', async () => {
    const done: string[] = [];
    const instrument = sharedInstrumentation<boolean>('second', (fails, undos) => {
      undos.push(() => done.push('undone'));
      if (fails) throw unsupportedFramework('Half-way.', 'Install version 2.');
    });
    const warnings: string[] = [];
    const onWarning = (warning: Error): unknown => warnings.push(`${warning.name}: ${warning.message}`);
    process.on('warning', onWarning);
    instrument(true)();
    expect(done).toEqual(['undone']);
    instrument(true)();
    await new Promise(setImmediate);
    process.off('warning', onWarning);
    expect(warnings).toEqual([
      'AgentLightningWarning: Failed to activate @agentlightning/second; agents run without it. ' +
        '[UNSUPPORTED_FRAMEWORK] Half-way: Install version 2.',
    ]);
    instrument(false)();
    expect(done).toEqual(['undone', 'undone', 'undone']);
  });
});
