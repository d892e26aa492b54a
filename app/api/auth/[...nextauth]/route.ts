import type { NextRequest } from "next/server"
import NextAuth from "next-auth"
import { authOptions } from "@/lib/auth"

type Context = { params: Promise<{ nextauth: string[] }> }

/** next-auth's own endpoints: sign-in through a provider returns here. */
async function handle(request: NextRequest, context: Context): Promise<Response> {
  return NextAuth(request, context, authOptions())
}

export { handle as GET, handle as POST }
