-- CreateTable
CREATE TABLE "user_pictures" (
    "user_id" UUID NOT NULL,
    "version" UUID NOT NULL,
    "image" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "user_pictures_pkey" PRIMARY KEY ("user_id"),
    CONSTRAINT "user_pictures_image" CHECK (octet_length("image") BETWEEN 1 AND 65536)
);

-- CreateIndex
CREATE UNIQUE INDEX "user_pictures_version_key" ON "user_pictures"("version");

-- AddForeignKey
ALTER TABLE "user_pictures" ADD CONSTRAINT "user_pictures_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
