import path from 'node:path';
import { expect, test } from 'vitest';
import { moreStepsCommand, resumeCommand } from './resume-command.ts';

test('keeps what says where the data lies and how long the run is', () => {
  const args = ['train', 'clerk/agl.config.ts', '--data-dir', 'runs', '--steps', '7', '--json'];
  expect(resumeCommand(args, 'run-1', 'agl')).toBe(
    'agl train clerk/agl.config.ts --data-dir runs --steps 7 --json --resume run-1',
  );
});

test('says no password of an address again', () => {
  const args = ['train', '--store', 'postgres://agl:se cret@db/agl', '--gateway=http://a:secret@b', '--name', 'a:b@c'];
  expect(resumeCommand(args, 'run-1', 'agl')).toBe(
    'agl train --store postgres://…@db/agl --gateway=http://…@b --name a:b@c --resume run-1',
  );
});

test('takes the place of --run and of an earlier --resume, however they are written', () => {
  for (const given of [['--run', 'x'], ['--run=x'], ['--resume', 'x'], ['--resume=x']]) {
    expect(resumeCommand(['train', ...given, '--seed', '3'], 'run-1', 'pnpm agl')).toBe(
      'pnpm agl train --seed 3 --resume run-1',
    );
  }
});

test('replaces the number of steps of a finished run', () => {
  for (const given of [['--steps', '5'], ['--steps=5'], []]) {
    const args = ['train', '--json', ...given, '--run=run-1'];
    expect(moreStepsCommand(args, { runId: 'run-1', steps: 10 }, 'agl')).toBe(
      'agl train --json --resume run-1 --steps 10',
    );
  }
});

test('shortens paths below the current folder and quotes what a shell would take apart', () => {
  const config = path.join(process.cwd(), 'my agents/agl.config.ts');
  expect(resumeCommand(['train', config, '--name', "it's"], 'run-1', 'agl')).toBe(
    `agl train 'my agents/agl.config.ts' --name 'it'\\''s' --resume run-1`,
  );
});
