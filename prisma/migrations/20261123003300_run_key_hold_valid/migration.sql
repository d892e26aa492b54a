ALTER TABLE "runs" VALIDATE CONSTRAINT "runs_key_hold";
