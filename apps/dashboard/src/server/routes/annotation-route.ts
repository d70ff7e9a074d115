import { AgentLightningError } from '@agentlightning/core';
import { parse } from '@agentlightning/core/internal';
import { annotationToSpan, type RolloutAnnotation } from '@agentlightning/core/spans';
import { isTerminalRolloutStatus } from '@agentlightning/core/store';
import type { Hono } from 'hono';
import { getCookie } from 'hono/cookie';
import { z } from 'zod';
import type { DashboardContext } from '../dashboard-context.ts';
import { limitedBody } from '../dashboard-security.ts';
import { type ViewerAccess, viewerCookie } from '../viewer-access.ts';

const annotationBody = z
  .strictObject({
    label: z.enum(['good', 'bad']).nullable().optional(),
    note: z.string().max(4000).optional(),
    preferredOver: z.string().min(1).max(200).optional(),
  })
  .refine((body) => Object.keys(body).length > 0, 'must have label, note or preferredOver');

/** The only route that writes: it adds a person's annotation to the latest attempt of a finished rollout. */
export function addAnnotationRoute(
  app: Hono,
  { store, clock, annotator }: DashboardContext,
  access: ViewerAccess,
): void {
  if (annotator === null) return;
  app.post('/api/rollouts/:id/annotations', limitedBody(32 * 1024), async (request) => {
    await access.assertAnnotator(request.req.header('authorization'), getCookie(request, viewerCookie));
    const body: unknown = await request.req.json().catch(() => null);
    const annotation = parse(annotationBody, body, 'Annotation') as RolloutAnnotation;
    const rollout = await store.getRollout(request.req.param('id'));
    if (!('attempt' in rollout) || !isTerminalRolloutStatus(rollout.status)) {
      throw new AgentLightningError({
        code: 'CONFLICT',
        message: `Rollout ${rollout.rolloutId} is ${rollout.status}, and only finished rollouts are annotated`,
        remedy: 'Annotate it when it is finished.',
      });
    }
    const { rolloutId, attempt } = rollout;
    if (annotation.preferredOver !== undefined) await store.getRollout(annotation.preferredOver);
    const source = { rolloutId, attemptId: attempt.attemptId, timeMs: clock.now() };
    await annotator.appendSpans([annotationToSpan(annotation, source)]);
    return request.body(null, 204);
  });
}
