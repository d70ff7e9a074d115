import { AgentLightningError } from '@agentlightning/core';
import { expect, test } from 'vitest';
import { errorText } from '../cli/error-text.ts';
import { plainLine } from './plain-report.ts';
import { terminalText } from './terminal-text.ts';

const hostile =
  'a\u001b[2J\u001b]52;c;aGk=\u0007b\u001b]8;;https://evil.example\u001b\\c\u009b31md\rover\bwritten\u001b';

test('control sequences of terminals are removed, text is kept', () => {
  expect(terminalText('plain text,\n\twith ä 漢')).toBe('plain text,\n\twith ä 漢');
  const safe = terminalText(hostile);
  expect(safe).not.toMatch(/(?![\n\t])\p{Cc}/u);
  expect(safe).toMatch(/^ab/);
});

test('errors of agents reach the terminal without control sequences', () => {
  const error = new AgentLightningError({ code: 'AGENT_FAILED', message: hostile, remedy: hostile });
  for (const text of [
    errorText(error),
    errorText(new Error(hostile)),
    plainLine({ type: 'warning', message: hostile }),
  ]) {
    expect(text).not.toMatch(/(?![\n\t])\p{Cc}/u);
  }
});
