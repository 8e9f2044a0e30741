# The merchant has configured the service and each of its characteristics: a phone that uses others is none of this shop's.
# Limit: 100 s
# Part: rest
# Needs: Sources/Terminal/Tap Sources/till-sandbox/TapCommand.swift

service=5a3c0010-0d5e-4b7f-8a21-6f1e90c4d2b3
write=6b1d7a52-93c4-4e0f-b8d7-15f2a6c09e31
status=c40f9b16-2e8a-4d35-9f70-8ab3d17e5264
read=18e6d3f9-b7a1-4c62-8d0e-f95b2c7a4013

shop_up 3 "{\"serviceUUID\":\"$service\",\"writeUUID\":\"$write\",\"statusUUID\":\"$status\",\"readUUID\":\"$read\"}"

required "A phone is on the air that has other characteristics in the same service" phone_taps anna hci1 --service $service
required "A charge of 12.50 is opened" charge 12.50
promise "That phone is not asked" never 8 phone_said anna Asked
finish anna
required "A customer's phone uses all four names" phone_taps berta hci2 --once --service $service --write-uuid $write \
    --status-uuid $status --read-uuid $read
promise "That phone pays" phone_ends berta 0
promise "The page says paid" within 10 charge_is succeeded
promise "The acquirer's books hold it" booked COMPLETED 1
promise "BlueZ keeps no device object of a phone" within 15 knows_no_device hci0
promise "Nobody ever paired" nothing_paired
