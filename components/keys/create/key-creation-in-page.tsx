"use client"

import dynamic from "next/dynamic"

/** The form in the page itself. Its code is loaded only by pages that show it: the others open it as a dialog. */
export const KeyCreationInPage = dynamic(async () => (await import("./key-creation")).KeyCreation)
