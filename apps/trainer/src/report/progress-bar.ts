/** A progress bar of block characters, `width` characters wide. */
export function bar(share: number, width: number): string {
  const eighths = Math.round(Math.min(1, Math.max(0, share)) * width * 8);
  const parts = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
  const filled = '█'.repeat(Math.floor(eighths / 8)) + (parts[eighths % 8] ?? '');
  return filled.padEnd(width, '░');
}
