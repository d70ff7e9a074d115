import type { Cost } from '@agentlightning/core/store';
import type { RunSummary } from '../../src/api/run-views.ts';

/** A reward or metric with three significant digits; an en dash for none. */
export function numberText(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return String(value);
  if (size !== 0 && (size < 0.001 || size >= 1e6)) return value.toExponential(2);
  return value.toFixed(size >= 100 ? 1 : 3);
}

/** A share of 0 to 1 as a percentage: `12.5 %`. */
export function shareText(share: number): string {
  return `${Number((share * 100).toFixed(1))} %`;
}

/** A count with a unit prefix: `12.3k`. */
export function countText(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  return new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 }).format(value);
}

/** A cost with its currency; an en dash for none. */
export function costText({ amount, currency }: Cost): string {
  if (amount === null) return '–';
  const digits = amount >= 1 ? { maximumFractionDigits: 2 } : { maximumSignificantDigits: 3 };
  return new Intl.NumberFormat('en', { style: 'currency', currency, ...digits }).format(amount);
}

const byteUnits = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** A size in bytes: `512 B`, `3.4 MB`. */
export function byteText(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), byteUnits.length - 1);
  return `${Number((bytes / 1000 ** power).toPrecision(3))} ${byteUnits[power]}`;
}

/** A duration: `840 ms`, `3.2 s`, `4 min 10 s`, `2 h 5 min`. */
export function durationText(milliseconds: number | null): string {
  if (milliseconds === null) return '–';
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** An age: `3.2 s ago`. */
export function ageText(timeMs: number | null, nowMs: number): string {
  return timeMs === null ? '–' : `${durationText(Math.max(0, nowMs - timeMs))} ago`;
}

/** Created once: tables format a time for each row that scrolls into view. */
const timeFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** A time in the viewer's time zone. */
export function timeText(timeMs: number | null): string {
  if (timeMs === null) return '–';
  return timeFormat.format(timeMs);
}

const shortTimeFormat = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
});

/** A time in the viewer's time zone, without seconds. */
export function shortTimeText(timeMs: number): string {
  return shortTimeFormat.format(timeMs);
}

/** A text that is JSON, indented; other text unchanged. */
export function indentedJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // Not JSON: shown unchanged.
    return text;
  }
}

/** A verdict in words; an en dash for none. */
export function verdictText(verdict: RunSummary['verdict']): string {
  if (verdict === null) return '–';
  return verdict === 'not-significant' ? 'no difference shown' : verdict;
}
